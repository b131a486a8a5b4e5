// A web server with a thread of its own, and a client of it.
#include <arpa/inet.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 8899 };

static enum MHD_Result answer(void *unused, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state) {
    (void)unused, (void)url, (void)method, (void)version, (void)data, (void)size, (void)state;
    struct MHD_Response *response = MHD_create_response_from_buffer(2, "ok", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

int main(void) {
    struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, PORT, 0, 0, answer, 0, MHD_OPTION_END);
    if (!daemon) return 2;
    int client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(client, (struct sockaddr *)&address, sizeof address)) return 3;
    const char *request = "GET / HTTP/1.0\r\n\r\n";
    send(client, request, strlen(request), 0);
    char text[1000];
    size_t length = 0;
    for (ssize_t n; (n = recv(client, text + length, sizeof text - 1 - length, 0)) > 0;) length += n;
    text[length] = 0;
    close(client);
    MHD_stop_daemon(daemon);
    return !strstr(text, "200 OK");
}
