// no_network PROGRAM ARGUMENTS...: runs the program where a socket of the internet's families ends the process that asks for one, or
// any child of it, by SIGSYS. The kernel sees to it (seccomp), so that no way to ask is missed.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS_EQUAL_SKIP(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count)
#define END(action) BPF_STMT(BPF_RET | BPF_K, action)

int main(int count, char** words) {
  struct sock_filter rules[] = {
      LOAD(arch),
      UNLESS_EQUAL_SKIP(MACHINE, 7),
      LOAD(nr),
      UNLESS_EQUAL_SKIP(__NR_socket, 5),
      LOAD(args[0]),
      UNLESS_EQUAL_SKIP(AF_INET, 1),
      END(SECCOMP_RET_KILL_PROCESS),
      UNLESS_EQUAL_SKIP(AF_INET6, 1),
      END(SECCOMP_RET_KILL_PROCESS),
      END(SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  if (count < 2) return 2;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    fprintf(stderr, "no_network: this system takes no filter: %s\n", strerror(errno));
    return 77;
  }
  execvp(words[1], words + 1);
  fprintf(stderr, "no_network: %s: %s\n", words[1], strerror(errno));
  return 127;
}
