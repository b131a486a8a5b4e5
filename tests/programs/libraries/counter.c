/* Counts by an atomic variable of its own. */
#include <stdatomic.h>

static atomic_int count;

int count_one(void)
{
    return atomic_fetch_add(&count, 1);
}
