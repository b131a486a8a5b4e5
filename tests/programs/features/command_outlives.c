// A command that system() leaves behind outlives the program, so it is not verified.
#include <stdlib.h>

int main(void) {
    return system("sleep 100 &") != 0;
}
