import { createRequire } from 'node:module'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import type { SqliteAnswer, SqliteJob } from './sqlite-job.ts'
import { runSqlite, type SqliteConstructor } from './sqlite-session.ts'

/**
 * The program of the process in which SQLite runs. Its second thread runs one statement after the other; its first
 * only passes messages, so that it hears when the parent is gone while a statement runs, and ends everything.
 */
if (isMainThread) passMessages()
else answerJobs()

function passMessages(): void {
  const thread = new Worker(new URL(import.meta.url))
  process.on('message', (job) => thread.postMessage(job))
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  thread.on('message', (answer) => process.send?.(answer))
  thread.on('error', () => process.kill(process.pid, 'SIGKILL'))
}

function answerJobs(): void {
  const Database = loadLibsql()
  parentPort?.on('message', (job: SqliteJob) => {
    parentPort?.postMessage(runJob(Database, job))
    // libsql keeps a database open until its statements are collected.
    globalThis.gc?.()
  })
}

function runJob(Database: SqliteConstructor | undefined, job: SqliteJob): SqliteAnswer {
  if (Database === undefined) return { kind: 'broken', message: 'SQLite needs the package libsql: npm install libsql' }
  return runSqlite(Database, job)
}

function loadLibsql(): SqliteConstructor | undefined {
  try {
    return createRequire(import.meta.url)('libsql') as SqliteConstructor
  } catch {
    return undefined
  }
}
