! The same, one after the other (R5).
program coarray
  implicit none
  integer :: part(4)[*]
  integer :: seen
  part = 0
  seen = 0
  sync all
  if (this_image() == 2) part(1)[1] = 7
  sync all
  if (this_image() == 1) seen = part(1)
  sync all
  print *, seen, part(1)
end program
