import { readlinkSync } from 'node:fs'
import os from 'node:os'

/** Niceness of threads that read bodies: searches, which somebody waits for, go first. */
const NICENESS = 5

/**
 * Lowers the priority of the thread that calls this. Linux keeps one for each thread, under a number that only
 * `/proc` tells; elsewhere nothing happens, for there it would be the whole process's.
 */
export function giveWay(): void {
  if (process.platform !== 'linux') return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (thread !== process.pid) os.setPriority(thread, NICENESS)
  } catch {
    // No /proc, or a sandbox that forbids it: all threads stay equal.
  }
}
