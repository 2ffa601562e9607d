# Binds the datagram socket that its argument names, as systemd does, and prints each message that
# comes in a line, behind the id of the process that has sent it.
import socket, struct, sys

messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
messages.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
messages.bind(sys.argv[1])
print("bound", flush=True)
while True:
    message, [(_, _, credentials)], _, _ = messages.recvmsg(4096, socket.CMSG_SPACE(12))
    (pid, _, _) = struct.unpack("3i", credentials)
    print(pid, message.decode().replace("\n", " "), flush=True)
