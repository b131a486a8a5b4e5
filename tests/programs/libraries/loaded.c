// A library for programs that load it themselves.
static int data = 2;
static int zeroed[5000];
static __thread int own;

int loaded_changes(void) { return (data - 2) + zeroed[4000] + own; }

void loaded_change(void) {
    data++;
    zeroed[4000]++;
    own++;
}
