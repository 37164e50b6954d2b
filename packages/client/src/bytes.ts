/** A body that is sent as it is. */
export type Bytes = NonNullable<RequestInit['body']>;
