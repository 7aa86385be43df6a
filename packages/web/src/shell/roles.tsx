import { createContext, type ReactNode, useContext } from 'react'

/** Each role may do all that the ones before it may: look, answer calls that wait, change everything. */
export const ROLES = ['viewer', 'approver', 'operator'] as const
export type Role = (typeof ROLES)[number]

const RoleContext = createContext<Role>('operator')

/** The gateway decides who may do what; this only hides what it would refuse. So far every login is an operator's. */
export const RoleProvider = ({
  children,
  role = 'operator',
}: {
  readonly children: ReactNode
  readonly role?: Role
}) => <RoleContext value={role}>{children}</RoleContext>

/** Whether the login has at least this role. */
export const useMay = (needed: Role): boolean => ROLES.indexOf(useContext(RoleContext)) >= ROLES.indexOf(needed)
