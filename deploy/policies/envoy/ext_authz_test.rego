package envoy.authz_test

import data.atrium.authz_test
import data.envoy.authz

call(claims) := {"attributes": {
	"metadataContext": {"filterMetadata": {"envoy.filters.http.jwt_authn": {"atrium": claims}}},
	"request": {"http": {
		"method": "GET",
		"path": sprintf("/files/spaces/%s/report?x=1", [authz_test.space]),
		"headers": {"x-atrium-user": "olga"},
	}},
}}

decide(asked) := result if {
	result := authz.allow with input as asked with http.send as authz_test.portal with opa.runtime as authz_test.env
}

test_member_is_let_through if {
	decide(call({"token_use": "user", "qxId": "max"})) == {"allowed": true}
}

test_stranger_is_told_why if {
	result := decide(call({"token_use": "user", "qxId": "stranger"}))
	result.allowed == false
	result.http_status == 403
	result.body == "member required"
}

test_no_user_token_no_entry if {
	every claims in [{}, {"token_use": "client", "qxId": "max"}, {"qxId": "max"}, {"token_use": "user"}] {
		decide(call(claims)).allowed == false
	}
	decide({}).allowed == false
	authz.allow.allowed == false with http.send as authz_test.portal with opa.runtime as authz_test.env
}
