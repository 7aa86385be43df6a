import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { higherSensitivity, isAtLeast, LOWEST_SENSITIVITY, SENSITIVITIES, type Sensitivity } from '@sallyport/core'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Label } from './label.ts'
import { type LabelStore, openLabelStore } from './label-store.ts'

/** For a long run with more sequences, and a folder in memory: LABEL_SEQUENCES=100000 LABEL_FOLDER=/dev/shm. */
const SEQUENCES = Number(process.env.LABEL_SEQUENCES ?? 100)

let folder: string
let sessions = 0

beforeAll(async () => {
  folder = await mkdtemp(join(process.env.LABEL_FOLDER ?? tmpdir(), 'label-model-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const writer = fc.nat(2)
const raising = fc.record({
  writer,
  dataset: fc.constantFrom('a', 'A', 'é', 'e\u0301', '../a'),
  sensitivity: fc.constantFrom(...SENSITIVITIES),
})
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ raise: raising }) },
  { weight: 2, arbitrary: fc.record({ together: fc.array(raising, { minLength: 2, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ read: writer }) },
  { weight: 1, arbitrary: fc.record({ restart: writer }) },
)

type Raising = typeof raising extends fc.Arbitrary<infer Value> ? Value : never
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Three writers that act like three processes; everything they read is compared with a model. */
class Trial {
  readonly #owner = { userId: 'ada', sessionId: String(++sessions) }
  readonly #stores = [0, 1, 2].map(() => openLabelStore(folder))
  readonly #model = new Map<string, Sensitivity>()
  #last: Sensitivity = LOWEST_SENSITIVITY

  async take(next: Step): Promise<void> {
    if ('raise' in next) this.#compare(await this.#raise(next.raise))
    if ('together' in next) await Promise.all(next.together.map((each) => this.#raise(each)))
    if ('read' in next) this.#compare(await this.#store(next.read).read(this.#owner))
    if ('restart' in next) this.#stores[next.restart] = openLabelStore(folder)
  }

  async end(): Promise<void> {
    for (const store of [...this.#stores, openLabelStore(folder)]) this.#compare(await store.read(this.#owner))
  }

  #raise({ writer: index, dataset, sensitivity }: Raising): Promise<Label> {
    this.#model.set(dataset, higherSensitivity(this.#model.get(dataset) ?? sensitivity, sensitivity))
    return this.#store(index).raise(this.#owner, dataset, sensitivity)
  }

  #store(index: number): LabelStore {
    return this.#stores[index] as LabelStore
  }

  #compare(label: Label): void {
    const datasets = Object.fromEntries(label.datasets.map(({ name, sensitivity }) => [name, sensitivity]))
    expect(datasets).toEqual(Object.fromEntries(this.#model))
    expect(label.sensitivity).toBe([...this.#model.values()].reduce(higherSensitivity, LOWEST_SENSITIVITY))
    expect(isAtLeast(label.sensitivity, this.#last)).toBe(true)
    this.#last = label.sensitivity
  }
}

test(`any order of raising, reading and restarting by three writers results in the maximum of all (${promise('SEN-1')})`, async () => {
  const run = async (steps: readonly Step[]): Promise<void> => {
    const trial = new Trial()
    for (const next of steps) await trial.take(next)
    await trial.end()
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), run), { numRuns: SEQUENCES })
}, 3_600_000)
