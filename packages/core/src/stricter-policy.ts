import type { ToolPolicy } from './effective-policy.ts'
import { PERMISSIONS } from './permission.ts'
import { RISK_LEVELS, type Ruled, SECRECY } from './tool-policy.ts'

/** Of each field the stricter of two values; what widens a policy, or only names things, is that of the first. */
export function stricterPolicy(one: ToolPolicy, other: ToolPolicy): ToolPolicy {
  return {
    ...one,
    ...stricterModes(one, other),
    permission: united(one.permission, other.permission, PERMISSIONS),
    risk: stricter(one.risk, other.risk, (level) => RISK_LEVELS.indexOf(level)),
    requiresApproval: stricter(one.requiresApproval, other.requiresApproval, Number),
    hidden: stricter(one.hidden, other.hidden, Number),
    misspelt: one.misspelt ?? other.misspelt,
    enforce: stricter(one.enforce, other.enforce, Number),
    secrets: stricter(one.secrets, other.secrets, (value) => SECRECY.indexOf(value)),
    allowedPaths: [...one.allowedPaths, ...other.allowedPaths],
    forbiddenPaths: [...one.forbiddenPaths, ...other.forbiddenPaths],
    unattendedPaths: one.unattendedPaths === other.unattendedPaths ? one.unattendedPaths : [],
    pathArguments: other.pathArguments,
    arguments: [...one.arguments, ...other.arguments],
    timeoutSeconds: lesser(one.timeoutSeconds, other.timeoutSeconds),
    rateLimitPerMinute: lesser(one.rateLimitPerMinute, other.rateLimitPerMinute),
    maxConcurrent: lesser(one.maxConcurrent, other.maxConcurrent),
    pin: other.pin,
  }
}

const stricterModes = (one: ToolPolicy, other: ToolPolicy) => ({
  requiresApprovalInModes: united(one.requiresApprovalInModes, other.requiresApprovalInModes),
  allowedInModes: common(one.allowedInModes, other.allowedInModes),
  forbiddenInModes: united(one.forbiddenInModes, other.forbiddenInModes),
  essential: stricter(one.essential, other.essential, (value) => Number(!value)),
})

function stricter<Value>(one: Ruled<Value>, other: Ruled<Value>, strictness: (value: Value) => number): Ruled<Value> {
  return strictness(one.value) >= strictness(other.value) ? one : other
}

function lesser(one: Ruled<number> | undefined, other: Ruled<number> | undefined): Ruled<number> | undefined {
  return one && other ? stricter(one, other, (value) => -value) : (one ?? other)
}

type RuledList<Item> = Ruled<readonly Item[]>

/** The reason is of the one that has more to say. */
function united<Item>(one: RuledList<Item>, other: RuledList<Item>, order?: readonly Item[]): RuledList<Item> {
  const items = new Set([...one.value, ...other.value])
  const telling = other.value.length > one.value.length ? other : one
  return { ...telling, value: order ? order.filter((item) => items.has(item)) : [...items] }
}

function common<Item>(one: RuledList<Item>, other: RuledList<Item>): RuledList<Item> {
  const telling = other.value.length < one.value.length ? other : one
  return { ...telling, value: one.value.filter((item) => other.value.includes(item)) }
}
