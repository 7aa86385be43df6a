import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../api/queries.ts'

/** Each role may do all that the ones before it may: look, answer calls that wait, change everything. */
const ROLES = ['viewer', 'approver', 'operator'] as const
type Role = (typeof ROLES)[number]

/** Whether the login has at least this role. The gateway decides; this only hides what it would refuse. */
export function useMay(needed: Role): boolean {
  const role = useQuery(meQuery).data?.role ?? 'viewer'
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
