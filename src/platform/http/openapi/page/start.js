/* global SwaggerUIBundle */

/** Plugin of Swagger UI: shows each error of an operation in one line. The beginning of the page describes the bodies of errors, which are all alike. */
const compactErrors = () => ({
  wrapComponents: {
    response:
      (Response, { React }) =>
      (props) => {
        if (!(Number(props.code) >= 400)) return React.createElement(Response, props);
        const cell = (column, text) => React.createElement('td', { className: `response-col_${column}` }, text);
        return React.createElement(
          'tr',
          { className: 'response' },
          cell('status', props.code),
          cell('description', props.response.get('description')),
        );
      },
  },
});

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
  plugins: [compactErrors],
});
