/** A request body that is not JSON. */
export type Bytes = NonNullable<RequestInit['body']>;
