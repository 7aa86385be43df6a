/** One check of the suite. */
export interface Check {
  readonly scenario: string
  readonly id: string
  readonly name: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
  readonly message: string
}

/** A check that passes without the gateway and does not with it. */
export interface Loss {
  readonly scenario: string
  readonly id: string
  readonly name: string
  readonly isScored: boolean
  readonly message: string
}

export interface Comparison {
  readonly kept: { readonly scored: number; readonly unscored: number }
  readonly losses: readonly Loss[]
}

/** A check that passes without the gateway has to pass through it; one that does not is ignored. */
export function compareChecks(
  alone: readonly Check[],
  through: readonly Check[],
  isScored: (scenario: string) => boolean,
): Comparison {
  const counterparts = byKey(through)
  const kept = { scored: 0, unscored: 0 }
  const losses: Loss[] = []
  for (const [key, { scenario, id, name, status }] of byKey(alone)) {
    if (status !== 'SUCCESS') continue
    const counterpart = counterparts.get(key)
    if (counterpart?.status === 'SUCCESS') kept[isScored(scenario) ? 'scored' : 'unscored']++
    else
      losses.push({
        scenario,
        id,
        name,
        isScored: isScored(scenario),
        message: toldOf(counterpart ?? firstFailure(through, scenario)),
      })
  }
  return { kept, losses }
}

/** What our own server or client fails at without a gateway: then there is nothing to compare with. */
export function failedAlone(alone: readonly Check[]): readonly Check[] {
  return alone.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
}

/** Some checks are made several times under one id and name: then their order distinguishes them. */
function byKey(checks: readonly Check[]): ReadonlyMap<string, Check> {
  const keyed = new Map<string, Check>()
  for (const check of checks) {
    const { scenario, id, name } = check
    let nth = 1
    while (keyed.has(`${scenario} ${id} ${name} ${nth}`)) nth++
    keyed.set(`${scenario} ${id} ${name} ${nth}`, check)
  }
  return keyed
}

/** If a check was not made at all, something before it failed. */
function firstFailure(checks: readonly Check[], scenario: string): Check | undefined {
  return checks.find((check) => check.scenario === scenario && check.status === 'FAILURE')
}

function toldOf(check: Check | undefined): string {
  return check ? `${check.status}: ${check.message}` : 'the check was not made'
}
