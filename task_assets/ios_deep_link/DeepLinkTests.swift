import XCTest
@testable import Tally

final class DeepLinkTests: XCTestCase {
    func testTheHistoryHasAnAddress() {
        XCTAssertEqual(DeepLink.screen(for: "tally://history"), "history")
        XCTAssertEqual(DeepLink.screen(for: "TALLY://History"), "history")
        XCTAssertEqual(DeepLink.screen(for: "tally://history/today"), "history")
        XCTAssertEqual(DeepLink.screen(for: "tally://history?from=mail"), "history")
    }

    func testEverythingElseIsTheCounter() {
        XCTAssertEqual(DeepLink.screen(for: "tally://historical"), "counter")
        XCTAssertEqual(DeepLink.screen(for: "tally://"), "counter")
        XCTAssertEqual(DeepLink.screen(for: ""), "counter")
    }
}
