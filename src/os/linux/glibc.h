/* SPDX-License-Identifier: MIT */
/*
 * Keeps the agent loadable wherever the runtime itself is (glibc 2.27): binds functions that newer
 * glibc gave a new version, without changing them, to the version that old ones have as well.
 * Included by every target-side source on the command line; tools/check-exports guards the result.
 */
#ifndef DNP_OS_LINUX_GLIBC_H
#define DNP_OS_LINUX_GLIBC_H

#ifndef __ASSEMBLER__
#ifdef __x86_64__
#define DNP_GLIBC_BASE "GLIBC_2.2.5"
#else
#define DNP_GLIBC_BASE "GLIBC_2.17"
#endif
#define DNP_SYMVER(f) __asm__(".symver " #f "," #f "@" DNP_GLIBC_BASE)

DNP_SYMVER(pthread_create);
DNP_SYMVER(pthread_join);
DNP_SYMVER(pthread_once);
DNP_SYMVER(pthread_key_create);
DNP_SYMVER(pthread_setspecific);
DNP_SYMVER(pthread_getspecific);
DNP_SYMVER(dlsym);
DNP_SYMVER(dlopen);
DNP_SYMVER(dlclose);
DNP_SYMVER(dlerror);
DNP_SYMVER(dladdr);
#ifdef __x86_64__
__asm__(".symver pthread_getattr_np,pthread_getattr_np@GLIBC_2.2.5");
__asm__(".symver pthread_attr_getstack,pthread_attr_getstack@GLIBC_2.2.5");
__asm__(".symver pthread_attr_setstack,pthread_attr_setstack@GLIBC_2.2.5");
__asm__(".symver fcntl64,fcntl@GLIBC_2.2.5");
#endif

#endif
#endif
