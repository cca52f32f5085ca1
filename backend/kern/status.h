/*
 * status.h
 *    How a kernel says that something went wrong; 0 = fine. The caller makes the error.
 */
#ifndef STATUS_H
#define STATUS_H

typedef enum KernStatus {
    KERN_OK = 0, KERN_OVERFLOW = 1, KERN_DIV_ZERO = 2, KERN_BAD_CAST = 4, KERN_BAD_ARGUMENT = 8, KERN_TOO_LONG = 16,
        KERN_UNDERFLOW = 32
} KernStatus;

#endif
