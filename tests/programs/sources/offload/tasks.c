// Tasks of one thread that the others of the team run, and the wait for them; a count of teams.
#include <omp.h>
#include <stdio.h>

enum { kTasks = 8 };

int main(void) {
  int on_host = 1, parts[kTasks], total = 0, teams = 0;
#pragma omp target map(from : on_host, parts) map(tofrom : total)
#pragma omp parallel
#pragma omp single
  {
    on_host = omp_is_initial_device();
    for (int k = 0; k < kTasks; ++k) {
#pragma omp task shared(parts) firstprivate(k)
      parts[k] = (k + 1) * (k + 1);
    }
#pragma omp taskwait
    for (int k = 0; k < kTasks; ++k) total += parts[k];
  }
#pragma omp target teams num_teams(3) reduction(+ : teams)
  teams += 1;
  printf("host %d tasks %d teams %d\n", on_host, total, teams);
}
