import { JWT_SECRET } from './caller.ts'

const OPEN = { requires_approval: false }
const READS = { ...OPEN, permission: ['READ'] }

/** What is in config.yaml, besides the servers: a person answers within two seconds, or not at all. */
export const RACE_CONFIG = {
  auth: { jwt: { secret: JWT_SECRET } },
  gateway: { startup_wait: '50s' },
  governance: {
    enforce: true,
    approval_timeout: '3s',
    defaults: { low: OPEN, medium: OPEN, high: OPEN },
    escalation: { policy_violations: false, upstream_crashes: false },
  },
}

/** What raises labels besides config.yaml, and a tool that needs a person each time. */
export const RACE_TOOLS = {
  tools: {
    'desk/menu': READS,
    'desk/internal': { ...READS, sensitivity: 'INTERNAL' },
    'desk/secret': { ...READS, sensitivity: 'SECRET' },
    'desk/file': { ...READS, sensitive_paths: ['/srv/hr/**'] },
    'desk/tell': READS,
    'vault/menu': READS,
    'sink/send': OPEN,
    'sink/ask': { requires_approval: true },
    'local/send': OPEN,
    'pair/send': OPEN,
  },
}
