! An array changed by one region and summed by another.
program offloaded
  use omp_lib
  implicit none
  integer, parameter :: n = 2000
  real(8) :: a(n), total
  integer :: i
  logical :: on_host
  on_host = .true.
  total = 0
  a = [(real(i, 8), i = 1, n)]
  !$omp target map(from: on_host)
  on_host = omp_is_initial_device()
  !$omp end target
  !$omp target teams distribute parallel do map(tofrom: a)
  do i = 1, n
    a(i) = a(i) * a(i)
  end do
  !$omp target teams distribute parallel do reduction(+: total) map(to: a)
  do i = 1, n
    total = total + a(i)
  end do
  print '(A,L1,A,F0.0)', 'host ', on_host, ' total ', total
end program
