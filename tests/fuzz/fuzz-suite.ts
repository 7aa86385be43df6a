import fc from 'fast-check'

/** What one file `tests/fuzz/<name>.fuzz.ts` exports as `suite`. */
export interface FuzzSuite {
  /** Starts what the properties need (servers, folders), once for the whole run. */
  readonly open: () => Promise<OpenFuzzSuite> | OpenFuzzSuite
}

export interface OpenFuzzSuite {
  /** Each property by the sentence that it proves. It fails by throwing, or by returning false. */
  readonly properties: Readonly<Record<string, fc.IRawProperty<unknown>>>
  readonly close?: () => Promise<void> | void
}

export interface FuzzOptions {
  /** How many cases are generated for each property. */
  readonly cases: number
  readonly seed: number
}

export interface FuzzFinding {
  readonly property: string
  /** As small as fast-check could make it. */
  readonly counterexample: string
  readonly error: string
  readonly seed: number
  /** With the seed, repeats exactly this case: `fc.assert(property, { seed, path })`. */
  readonly path: string
}

export interface FuzzReport {
  readonly cases: number
  readonly seconds: number
  readonly findings: readonly FuzzFinding[]
}

export async function runFuzzSuite(suite: FuzzSuite, { cases, seed }: FuzzOptions): Promise<FuzzReport> {
  const start = performance.now()
  const findings: FuzzFinding[] = []
  let done = 0
  const { properties, close } = await suite.open()
  try {
    for (const [title, property] of Object.entries(properties)) {
      const details = await fc.check(property, { numRuns: cases, seed })
      done += details.numRuns
      if (details.failed) findings.push(toFinding(title, details))
    }
  } finally {
    await close?.()
  }
  return { cases: done, seconds: (performance.now() - start) / 1000, findings }
}

function toFinding(property: string, details: fc.RunDetails<unknown>): FuzzFinding {
  const { counterexample, counterexamplePath, errorInstance, seed } = details
  // Without an error the generator discarded too many cases: nothing was proven.
  const error = errorInstance ?? (counterexample === null ? 'Too many cases were discarded.' : 'It returned false.')
  return {
    property,
    counterexample: fc.stringify(counterexample),
    error: error instanceof Error ? error.message : String(error),
    seed,
    path: counterexamplePath ?? '',
  }
}
