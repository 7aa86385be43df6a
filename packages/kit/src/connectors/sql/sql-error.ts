import { ConnectorError } from '../connector-error.ts'

export const queryCancelledError = (): ConnectorError =>
  new ConnectorError('The query was cancelled.', { retryable: true })

export const queryTimeoutError = (timeoutMs: number): ConnectorError =>
  new ConnectorError(`The query took longer than ${timeoutMs} ms and was stopped. Ask for less.`, { retryable: true })
