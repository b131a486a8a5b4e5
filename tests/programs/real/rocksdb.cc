// Two threads write to one RocksDB database, which has threads of its own.
#include <rocksdb/db.h>
#include <string>
#include <thread>

int main() {
    rocksdb::DestroyDB("./rdb", rocksdb::Options());
    rocksdb::DB *db;
    rocksdb::Options options;
    options.create_if_missing = true;
    if (!rocksdb::DB::Open(options, "./rdb", &db).ok()) return 2;
    std::thread a([&] { db->Put({}, "a", "1"); }), b([&] { db->Put({}, "b", "2"); });
    a.join();
    b.join();
    std::string value;
    bool right = db->Get({}, "a", &value).ok() && db->Get({}, "b", &value).ok();
    delete db;
    rocksdb::DestroyDB("./rdb", rocksdb::Options());
    return !right;
}
