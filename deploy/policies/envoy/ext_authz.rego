# Answers Envoy's external authorization (OPA with its Envoy plugin) by Atrium's policy. Who asks comes from the
# token that Envoy's jwt_authn filter has verified, never from a header of the request.
package envoy.authz

default allow := {"allowed": false, "http_status": 403, "body": "denied"}

allow := {"allowed": true} if {
	decision.allow
} else := {"allowed": false, "http_status": 403, "body": decision.reason, "headers": {"content-type": "text/plain"}} if {
	decision.reason
}

# Undefined, and so denied, when anything of it is missing.
decision := result if {
	asked := {
		"method": input.attributes.request.http.method,
		"path": input.attributes.request.http.path,
		"user": {"qxId": qx_id},
	}
	result := data.atrium.authz.decision with input as asked
}

# `payload_in_metadata: atrium` of the filter puts the verified claims here.
qx_id := claims.qxId if claims.token_use == "user"

claims := input.attributes.metadataContext.filterMetadata["envoy.filters.http.jwt_authn"].atrium
