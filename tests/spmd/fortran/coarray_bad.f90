! Image 2 writes into image 1's part while image 1 reads it (R5).
program coarray
  implicit none
  integer :: part(4)[*]
  integer :: seen
  part = 0
  seen = 0
  sync all
  if (this_image() == 2) part(1)[1] = 7
  if (this_image() == 1) seen = part(1)
  sync all
  print *, seen, part(1)
end program
