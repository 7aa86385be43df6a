import { SallyportError } from '../errors.ts'
import { quoteText } from '../text/excerpt.ts'
import { didYouMean } from '../text/find-closest.ts'

/** How confidential data is. Code depends on the order: least confidential first. */
export const SENSITIVITIES = ['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'] as const

export type Sensitivity = (typeof SENSITIVITIES)[number]

/** The default. */
export const LOWEST_SENSITIVITY: Sensitivity = 'PUBLIC'

/** Which calls make their session at least this sensitive: all, or those with a path that one of the patterns matches. */
export interface SensitivityRule {
  readonly sensitivity: Sensitivity
  readonly paths?: readonly string[]
}

/** What an entry says about its calls: with `sensitive_paths`, `sensitivity` is the level of these paths. */
export function toSensitivityRule({
  sensitivity,
  sensitivePaths,
}: {
  readonly sensitivity?: Sensitivity | undefined
  readonly sensitivePaths?: readonly string[] | undefined
}): SensitivityRule | undefined {
  if (sensitivePaths !== undefined) return { sensitivity: sensitivity ?? PATHS_SENSITIVITY, paths: sensitivePaths }
  return sensitivity === undefined ? undefined : { sensitivity }
}

/** The level of `sensitive_paths` without a `sensitivity` beside them. */
const PATHS_SENSITIVITY: Sensitivity = 'CONFIDENTIAL'

/** Used if a declared sensitivity cannot be read. */
export const HIGHEST_SENSITIVITY: Sensitivity = 'SECRET'

export const isSensitivity = (value: unknown): value is Sensitivity =>
  SENSITIVITIES.some((sensitivity) => sensitivity === value)

/** The only way to merge two: no operation lowers a sensitivity. */
export const higherSensitivity = (a: Sensitivity, b: Sensitivity): Sensitivity => (rank(a) >= rank(b) ? a : b)

export const compareSensitivity = (a: Sensitivity, b: Sensitivity): number => rank(a) - rank(b)

export const isAtLeast = (a: Sensitivity, b: Sensitivity): boolean => rank(a) >= rank(b)

export const isPrivate = (sensitivity: Sensitivity, from: Sensitivity = 'CONFIDENTIAL'): boolean =>
  isAtLeast(sensitivity, from)

/** Reads a sensitivity in upper or lower case. `where` names the setting for errors: `labels.private_from`. */
export function parseSensitivity(written: unknown, where: string): Sensitivity {
  const canonical = typeof written === 'string' ? written.trim().toUpperCase() : written
  if (isSensitivity(canonical)) return canonical
  throw new SallyportError(
    'CONFIG_INVALID',
    `${where} is ${describeWritten(written)}, which is not a valid sensitivity.`,
    {
      hint: `Expected one of ${SENSITIVITIES.join(', ')}.${typeof written === 'string' ? didYouMean(written, SENSITIVITIES) : ''}`,
    },
  )
}

// An unknown value that got past the compiler ranks highest, so that it is treated most strictly.
function rank(sensitivity: Sensitivity): number {
  const index = SENSITIVITIES.indexOf(sensitivity)
  return index === -1 ? SENSITIVITIES.length : index
}

function describeWritten(written: unknown): string {
  if (typeof written === 'string') return quoteText(written, 40)
  return typeof written === 'object' ? 'not a string' : String(written)
}
