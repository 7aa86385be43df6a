const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
export async function post(url, body, headers = {}) {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const response = await fetch(url, { method: 'POST', headers: { ...HEADERS, ...headers }, body: text });
    const messages = parseMessages(await response.text(), response.headers.get('content-type') ?? '');
    return {
        status: response.status,
        headers: response.headers,
        message: messages.at(-1) ?? {},
        before: messages.slice(0, -1),
    };
}
function parseMessages(text, type) {
    if (text === '')
        return [];
    if (!type.startsWith('text/event-stream'))
        return [JSON.parse(text)];
    return text
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice(6)));
}
let nextId = 1;
/** A legacy session: it began with `initialize`. */
export class LegacyClient {
    session;
    #url;
    #headers;
    constructor(url, session, headers) {
        this.session = session;
        this.#url = url;
        this.#headers = { ...headers, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    }
    static async open(url, headers = {}) {
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
        const answer = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, headers);
        const session = answer.headers.get('mcp-session-id');
        if (!session)
            throw new Error(`no session: ${answer.status} ${JSON.stringify(answer.message)}`);
        return new LegacyClient(url, session, headers);
    }
    request(method, params = {}, id = nextId++) {
        return post(this.#url, { jsonrpc: '2.0', id, method, params }, this.#headers);
    }
    async call(name, args = {}) {
        const { message } = await this.request('tools/call', { name, arguments: args });
        return message.result ?? message;
    }
    notify(method, params = {}) {
        return post(this.#url, { jsonrpc: '2.0', method, params }, this.#headers);
    }
}
/** What every request of the modern era carries in `_meta`. */
export const MODERN_ENVELOPE = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
};
/** One request of the modern era, with the headers that repeat it. */
export function modernRequest(url, method, params = {}, headers = {}) {
    const name = params.name ?? params.uri ?? params.taskId;
    const repeated = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(typeof name === 'string' && { 'mcp-name': name }),
    };
    const body = {
        jsonrpc: '2.0',
        id: nextId++,
        method,
        params: { ...params, _meta: { ...MODERN_ENVELOPE, ...params._meta } },
    };
    return post(url, body, { ...repeated, ...headers });
}
