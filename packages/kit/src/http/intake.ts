export { BodyBudget, type BodyReservation, RETRY_AFTER_HEADERS } from './body-budget.ts'
export { decodeHeaderValue, encodeHeaderValue } from './header-value.ts'
export { type BodyLimit, bodyTooLarge, readBody, receiveBody } from './request-body.ts'
export { createRequestGuard, type RequestGuard } from './request-guard.ts'
