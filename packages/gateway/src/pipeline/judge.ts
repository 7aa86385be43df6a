import { ALLOW, compileSteps, type Decision, type JsonObject, type Step, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Call } from './call.ts'
import type { Case } from './case.ts'
import { meantBy } from './inner-call.ts'
import type { Listings } from './listings.ts'
import type { ToolRules } from './tool-rules.ts'

export interface JudgeOptions {
  readonly listings: Listings
  readonly rulesOf: (offer: Offer) => ToolRules
  /** What a tool's input schema says to arguments. A schema that is more than plain is asked elsewhere. */
  readonly check: (schema: JsonObject, args: JsonObject) => Verdict | Promise<Verdict>
  readonly steps: readonly Step<Case>[]
}

/** What a call brings along that was judged before. */
type Earlier = Pick<Case, 'grant' | 'counted'>

const NEW: Earlier = Object.freeze({ grant: undefined })

/** A call that was judged. */
export interface Trial {
  readonly case: Case
  readonly decision: Decision
  /** Of the rules by which it was. */
  readonly epoch: number
}

/** Decides about calls, starting from what listing decided. What is judged is the call that is meant. */
export class Judge {
  readonly #options: JudgeOptions
  readonly #decide: (subject: Case, listed: Decision) => Decision

  constructor(options: JudgeOptions) {
    this.#options = options
    this.#decide = compileSteps(options.steps)
  }

  /** At once where that can be. A bug of ours is told by a promise in any case. */
  judge(asked: Call, before = NEW): Trial | Promise<Trial> {
    try {
      return this.#judge(asked, before)
    } catch (bug) {
      return Promise.reject(bug)
    }
  }

  /** Of what is no call of a tool no schema has to be asked. */
  judgeNow(asked: Call): Trial {
    const { call, earlier } = meantBy(asked, this.#options.listings)
    return this.#tried({ call, checked: ALLOW, before: NEW }, earlier)
  }

  #judge(asked: Call, before: Earlier): Trial | Promise<Trial> {
    const { call, earlier } = meantBy(asked, this.#options.listings)
    const checked = earlier.outcome === 'deny' ? ALLOW : this.#check(call)
    if (!(checked instanceof Promise)) return this.#tried({ call, checked, before }, earlier)
    // Meanwhile the rules may have changed, and the schema itself.
    return checked.then((verdict) => {
      const current = this.#current(asked)
      if (current !== asked) return this.#judge(current, before)
      const now = meantBy(asked, this.#options.listings)
      return this.#tried({ call: now.call, checked: verdict, before }, now.earlier)
    })
  }

  /** The same for a call that has waited: its server may have changed what it offers, and that is what would be called. */
  judgeAgain(asked: Call, before: Earlier): Trial | Promise<Trial> {
    return this.judge(this.#current(asked), before)
  }

  /** The very same while its server offers what it did. */
  #current(asked: Call): Call {
    const { offer } = asked
    const now =
      offer.kind === 'tool' ? this.#options.listings.toolOf({ server: offer.server, tool: offer.name }) : offer
    return now && now !== offer ? { ...asked, offer: now } : asked
  }

  /** Whether what was decided would be decided again. */
  holds({ epoch }: Trial): boolean {
    return epoch === this.#options.listings.epoch
  }

  #tried({ call, checked, before }: Pick<Case, 'call' | 'checked'> & { before: Earlier }, listed: Decision): Trial {
    const { principal, params } = call
    const { grant, counted } = before
    const subject = { call, principal, params, rules: this.#options.rulesOf(call.offer), checked, grant, counted }
    return { case: subject, decision: this.#decide(subject, listed), epoch: this.#options.listings.epoch }
  }

  #check({ method, offer, params }: Call): Verdict | Promise<Verdict> {
    if (method !== 'tools/call' || offer.kind !== 'tool') return ALLOW
    const { inputSchema } = offer.original
    return this.#options.check(inputSchema as JsonObject, (params.arguments ?? {}) as JsonObject)
  }
}
