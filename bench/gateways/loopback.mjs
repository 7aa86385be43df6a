// Loaded into a peer that has no option for its address: only this machine may reach it.
import { Server } from 'node:net'

const listen = Server.prototype.listen

Server.prototype.listen = function (where, ...rest) {
  return typeof where === 'number' ? listen.call(this, where, '127.0.0.1', ...rest) : listen.call(this, where, ...rest)
}
