import type { Promised } from './promised.ts'

export const SENSITIVITY_PROMISES = {
  'SEN-1': {
    text: 'Sensitivity starts PUBLIC, only rises, is merged by maximum, and is durable before the result that raised it leaves',
    state: 'partial',
    missing: 'the label in the gateway',
  },
} as const satisfies Record<string, Promised>
