/* signin.h: from an accepted socket to a session. Throws (fatal); ends the process when the client only wanted to cancel, or has gone. */
#ifndef SIGNIN_H
#define SIGNIN_H

#include "backend/session.h"

void signin(Session *s);

#endif
