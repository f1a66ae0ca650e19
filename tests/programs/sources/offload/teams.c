// Teams that run at the same time meet at a lock, at places taken from a ticket, and in a sum.
#include <omp.h>
#include <stdio.h>

enum { kCount = 3000, kTeams = 12, kThreads = 4, kTurns = 100 };
static long total, taken, ticket;

int main(void) {
  int on_host = 1, teams = 0;
  double sum = 0;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
#pragma omp target teams num_teams(kTeams) map(tofrom : total, teams)
  {
    if (omp_get_team_num() == 0) teams = omp_get_num_teams();
#pragma omp parallel num_threads(kThreads)
    for (int i = 0; i < kTurns; ++i) {
#pragma omp critical
      total += 1;
    }
  }
#pragma omp target teams distribute parallel for num_teams(kTeams) map(tofrom : ticket, taken)
  for (int i = 0; i < kCount; ++i) {
    long mine;
#pragma omp atomic capture
    mine = ticket++;
#pragma omp atomic
    taken += mine;
  }
#pragma omp target teams distribute parallel for num_teams(kTeams) reduction(+ : sum)
  for (int i = 0; i < kCount; ++i) sum += i * .5;
  printf("host %d critical %ld of %d tickets %ld %ld sum %.1f\n", on_host, total, teams * kThreads * kTurns,
         ticket, taken, sum);
}
