// Two threads use one database in memory.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

static sqlite3 *db;

static void *insert(void *value) {
    char query[64];
    snprintf(query, sizeof query, "insert into t values (%ld)", (long)value);
    return (void *)(long)sqlite3_exec(db, query, 0, 0, 0);
}

int main(void) {
    if (sqlite3_open(":memory:", &db) || sqlite3_exec(db, "create table t (a)", 0, 0, 0)) return 2;
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, insert, (void *)i);
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong |= result != 0;
    }
    sqlite3_close(db);
    return wrong;
}
