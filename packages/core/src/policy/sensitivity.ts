import { SallyportError } from '../errors.ts'
import { quoteText } from '../text/excerpt.ts'
import { didYouMean } from '../text/find-closest.ts'

/** How far data may travel, from the freest to the most guarded. The order is the meaning. */
export const SENSITIVITIES = ['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'] as const

export type Sensitivity = (typeof SENSITIVITIES)[number]

/** Where nothing was said. */
export const LOWEST_SENSITIVITY: Sensitivity = 'PUBLIC'

/** What counts where something was said that cannot be read. */
export const HIGHEST_SENSITIVITY: Sensitivity = 'SECRET'

export const isSensitivity = (value: unknown): value is Sensitivity =>
  SENSITIVITIES.some((sensitivity) => sensitivity === value)

/** The only way in which two are merged: there is no operation that lowers one. */
export const higherSensitivity = (a: Sensitivity, b: Sensitivity): Sensitivity => (rank(a) >= rank(b) ? a : b)

export const isAtLeast = (a: Sensitivity, b: Sensitivity): boolean => rank(a) >= rank(b)

export const isPrivate = (sensitivity: Sensitivity, from: Sensitivity = 'CONFIDENTIAL'): boolean =>
  isAtLeast(sensitivity, from)

/** Reads what a person wrote, in any case. `where` names the place: `labels.private_from`. */
export function parseSensitivity(written: unknown, where: string): Sensitivity {
  const canonical = typeof written === 'string' ? written.trim().toUpperCase() : written
  if (isSensitivity(canonical)) return canonical
  throw new SallyportError('CONFIG_INVALID', `${where} is ${describeWritten(written)}, which is no sensitivity.`, {
    hint: `Expected one of ${SENSITIVITIES.join(', ')}.${typeof written === 'string' ? didYouMean(written, SENSITIVITIES) : ''}`,
  })
}

// A value that got past the compiler ranks as the highest: unknown means strictest.
function rank(sensitivity: Sensitivity): number {
  const index = SENSITIVITIES.indexOf(sensitivity)
  return index === -1 ? SENSITIVITIES.length : index
}

function describeWritten(written: unknown): string {
  if (typeof written === 'string') return quoteText(written, 40)
  return typeof written === 'object' ? 'not a text' : String(written)
}
