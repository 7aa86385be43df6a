export { headerText, readHeaderText } from './header-text.ts'
export { type BodyLimit, readBody, receiveBody } from './request-body.ts'
export { createRequestGuard, type RequestGuard } from './request-guard.ts'
