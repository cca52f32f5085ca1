/* main.c: the program's entry. */
int
main(void)
{
    return 0;
}
