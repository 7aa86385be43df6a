import { spawnSync } from 'node:child_process'
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { MAIN } from '../cli.test-kit.ts'
import { exposeGc } from './expose-gc.ts'

interface CollectionEntry extends PerformanceEntry {
  readonly detail: { readonly kind: number; readonly flags: number }
}

/** V8 collects by itself as well. */
function wasAskedFor(entry: PerformanceEntry): boolean {
  const { kind, flags } = (entry as CollectionEntry).detail
  return kind === constants.NODE_PERFORMANCE_GC_MINOR && (flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0
}

afterEach(() => {
  globalThis.gc = undefined
})

describe('the garbage collector of V8', () => {
  it('collects when it is called, and is not exposed to any other context', async () => {
    exposeGc()
    const collected = new Promise<void>((resolve) => {
      const observer = new PerformanceObserver((list, self) => {
        if (!list.getEntries().some(wasAskedFor)) return
        self.disconnect()
        resolve()
      })
      observer.observe({ entryTypes: ['gc'] })
    })
    globalThis.gc?.({ type: 'minor' })
    await collected
    expect(runInNewContext('typeof gc')).toBe('undefined')
  })

  it('is the existing one if the process was started with one', () => {
    const given = (() => {}) as NodeJS.GCFunction
    globalThis.gc = given
    exposeGc()
    expect(globalThis.gc).toBe(given)
  })

  it('is available in the command', () => {
    const tell = 'data:text/javascript,process.on("exit",()=>console.error("gc:",typeof gc))'
    const { stderr } = spawnSync(process.execPath, ['--import', tell, MAIN, '--version'], { encoding: 'utf8' })
    expect(stderr).toContain('gc: function')
  })
})
