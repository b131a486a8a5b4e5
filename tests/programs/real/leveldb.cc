// Two threads write to one LevelDB database.
#include <leveldb/db.h>
#include <string>
#include <thread>

int main() {
    leveldb::DestroyDB("./ldb", leveldb::Options());
    leveldb::DB *db;
    leveldb::Options options;
    options.create_if_missing = true;
    if (!leveldb::DB::Open(options, "./ldb", &db).ok()) return 2;
    std::thread a([&] { db->Put({}, "a", "1"); }), b([&] { db->Put({}, "b", "2"); });
    a.join();
    b.join();
    std::string value;
    bool right = db->Get({}, "a", &value).ok() && db->Get({}, "b", &value).ok();
    delete db;
    leveldb::DestroyDB("./ldb", leveldb::Options());
    return !right;
}
