import { cutText, type JsonObject } from '@sallyport/core'
import type { Settings } from '../config/config.ts'
import { findPresetProblem, isQuarantined, resolvePreset, type ShapingRules } from './shaping-rules.ts'

export interface NamedPresetsOptions {
  readonly settings: () => Pick<Settings, 'context'>
  readonly onWarning?: ((text: string) => void) | undefined
}

/** The preset that a server named for one of its results. */
export interface NamedByServer {
  readonly server: string
  /** Its name, or its settings. */
  readonly preset: string | JsonObject
}

/** A server could name ever new ones. */
const MAX_REPORTED = 100
const MAX_PROBLEM_LENGTH = 300

/** Presets that servers name for their results, because they know that the gateway shortens them (SEN-21). */
export class NamedPresets {
  readonly #options: NamedPresetsOptions
  /** Warnings that were shown: each is shown once. */
  readonly #reported = new Set<string>()

  constructor(options: NamedPresetsOptions) {
    this.#options = options
  }

  /** The rules with the named preset, unless a person has chosen one. An invalid one is the default preset. */
  addTo(rules: ShapingRules, { server, preset: wanted }: NamedByServer): ShapingRules {
    if (rules.preset !== undefined || isQuarantined(rules.plan)) return rules
    const { presets } = this.#options.settings().context
    const problem = findPresetProblem(wanted, presets)
    if (problem !== undefined) this.#warn(server, problem)
    return { ...rules, preset: resolvePreset(wanted, presets) }
  }

  #warn(server: string, problem: string): void {
    const text = `Server ${server} names an invalid preset for a result, and the default preset is used: ${cutText(problem, MAX_PROBLEM_LENGTH)}`
    if (this.#reported.has(text) || this.#reported.size >= MAX_REPORTED) return
    this.#reported.add(text)
    this.#options.onWarning?.(text)
  }
}
