# Opens where systemd takes messages (NOTIFY_SOCKET), and becomes the program that its arguments
# name, which finds the number of the open socket in NOTIFY_FD, and its own in NOTIFY_PID. systemd
# wants a datagram socket, which Node cannot open, and takes messages of the main process alone.

use strict;
use warnings;
use Fcntl;
use Socket;

# What is opened stays open in the program.
$^F = 255;
my $path = $ENV{NOTIFY_SOCKET} =~ s/^@/\0/r;
my $is_open = socket(my $notify, AF_UNIX, SOCK_DGRAM, 0);
if ($is_open && connect($notify, pack_sockaddr_un($path)) && fcntl($notify, F_SETFL, O_NONBLOCK)) {
  $ENV{NOTIFY_FD} = fileno $notify;
  $ENV{NOTIFY_PID} = $$;
} else {
  print STDERR "thermolog: NOTIFY_SOCKET cannot be opened, so systemd is not told anything: $!\n";
}
exec { $ARGV[0] } @ARGV or die "thermolog: cannot start $ARGV[0]: $!\n";
