import type { Loss } from './check.ts'

/** A loss that is understood and accepted. */
export interface KnownLoss {
  /** Legs whose name holds all of these words. */
  readonly leg: string
  readonly scenario: string
  /** All checks of the scenario, where none are named. */
  readonly checks?: readonly string[]
  readonly reason: string
}

export const KNOWN_LOSSES: readonly KnownLoss[] = []

/** A required check can only be given up where the eras differ: mirrored, nothing stands in its way. */
export function isExcused(leg: string, loss: Loss, known: readonly KnownLoss[] = KNOWN_LOSSES): boolean {
  if (loss.isScored && !leg.includes('bridged')) return false
  return known.some((entry) => covers(entry, leg, loss))
}

/** Entries that nothing was lost for: whoever repaired it takes them out. */
export function staleLosses(
  losses: ReadonlyMap<string, readonly Loss[]>,
  known: readonly KnownLoss[] = KNOWN_LOSSES,
): readonly KnownLoss[] {
  return known.filter((entry) => ![...losses].some(([leg, lost]) => lost.some((loss) => covers(entry, leg, loss))))
}

function covers({ leg: words, scenario, checks }: KnownLoss, leg: string, loss: Loss): boolean {
  if (!words.split(' ').every((word) => leg.split(' ').includes(word))) return false
  return loss.scenario === scenario && (checks?.includes(loss.id) ?? true)
}
