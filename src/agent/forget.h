/* SPDX-License-Identifier: MIT */
/*
 * The library is about to be unloaded: nothing of it is to be left in the process. What belongs to
 * one recording has gone with that; what goes here belongs to the time in which the library is
 * there, whether something is recorded or not.
 *
 *   signal      given back by the engines when a recording ends; the last threads leave its handler
 *   threads     the mappings of their records, which recordings use one after another
 *   watch       the descriptor by which handlers call
 *   methods     their names, and numbers
 *   thread names  of threads that have not begun
 *   tables      of code: compiled at run time, precompiled, native
 *   session     its mapping
 *   runtime     our reference to its interface
 */
#ifndef DNP_AGENT_FORGET_H
#define DNP_AGENT_FORGET_H

/*
 * In ProfilerDetachSucceeded, the last function of ours that the runtime calls: nothing is
 * recorded, no callback is under way, and no thread of ours is left (dnp_own_thread_join). May wait
 * some milliseconds for threads to leave the signal's handler; where it is not sure of one that it
 * has, the library stays.
 */
void dnp_agent_forget(void);

#endif
