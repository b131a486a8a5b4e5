// Two threads, each with its own connection, insert into one database on disk; who comes second waits.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

static void *insert(void *value) {
    sqlite3 *db;
    char query[64];
    snprintf(query, sizeof query, "insert into t values (%ld)", (long)value);
    if (sqlite3_open("./t.db", &db)) return (void *)2;
    sqlite3_busy_timeout(db, 100000);
    long result = sqlite3_exec(db, query, 0, 0, 0);
    sqlite3_close(db);
    return (void *)result;
}

int main(void) {
    unlink("./t.db");
    sqlite3 *db;
    if (sqlite3_open("./t.db", &db) || sqlite3_exec(db, "create table t (a)", 0, 0, 0)) return 2;
    sqlite3_close(db);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, insert, (void *)i);
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong |= result != 0;
    }
    unlink("./t.db");
    return wrong;
}
