/* SPDX-License-Identifier: MIT */
/*
 * The runtime keeps a copy of the environment, made before the agent is loaded. Managed code reads
 * that copy and hands it to the processes it starts; unsetenv() does not reach it. The runtime's
 * own diagnostics server does, so the agent asks it, over its socket.
 */
#ifndef DNP_AGENT_OWN_ENVIRONMENT_H
#define DNP_AGENT_OWN_ENVIRONMENT_H

/*
 * Removes a variable from the environment of this process, as C code and as managed code see it.
 * `name` is ASCII. 0, or -errno when only C code no longer sees it: the server is switched off
 * (DOTNET_EnableDiagnostics_IPC=0), or it did not answer within a second. Any thread, once the
 * runtime has begun to start.
 */
int dnp_own_environment_unset(const char *name);

#endif
