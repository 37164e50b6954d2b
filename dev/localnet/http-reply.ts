/** An HTTP response, or `cut`: the server closes the connection without a response. */
export type HttpReply = { readonly status: number; readonly body: object | string; readonly headers?: Readonly<Record<string, string>> } | 'cut';
