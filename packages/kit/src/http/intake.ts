export { headerText, readHeaderText } from './header-text.ts'
export { type BodyLimit, readBody } from './request-body.ts'
export { createRequestGuard, type RequestGuard } from './request-guard.ts'
