export { BodyBudget, type BodyClaim, RETRY_AFTER } from './body-budget.ts'
export { headerText, readHeaderText } from './header-text.ts'
export { type BodyLimit, bodyTooLarge, readBody, receiveBody } from './request-body.ts'
export { createRequestGuard, type RequestGuard } from './request-guard.ts'
