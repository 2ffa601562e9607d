# Binds the datagram socket that its argument names, as systemd does, and prints each message that
# comes in a line. The file descriptors that come along are closed by not being taken.
import socket, sys

messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
messages.bind(sys.argv[1])
print("bound", flush=True)
while True:
    message = messages.recv(4096).decode().replace("\n", " ")
    # systemd-notify waits with it until its message has been read.
    if message != "BARRIER=1":
        print(message, flush=True)
